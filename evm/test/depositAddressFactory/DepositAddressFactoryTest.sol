// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositAddressFactory} from "../../src/DepositAddressFactory.sol";
import {IDepositAddressFactory} from "../../src/IDepositAddressFactory.sol";
import {Treasury} from "../../src/Treasury.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Test} from "../Test.sol";

/// @notice A factory with a Treasury, a token and the deposit address of one swap, not yet deployed.
abstract contract DepositAddressFactoryTest is Test {
    bytes32 internal constant SALT = bytes32(uint256(7));
    address internal constant NATIVE = address(0);

    address internal immutable user = named("user");
    address internal immutable outsider = named("outsider");

    Treasury internal treasury;
    DepositAddressFactory internal factory;
    DevToken internal token;
    address internal depositAddress;

    function setUp() public virtual {
        treasury = new Treasury(named("owner"), new address[](0));
        factory = new DepositAddressFactory(address(treasury));
        token = new DevToken("USD Coin", "USDC", 6, address(treasury), 1_000_000e6);
        depositAddress = factory.addressOf(SALT);
        vm.deal(address(treasury), 1000 ether);
        vm.deal(user, type(uint128).max);
    }

    /// @dev The caller has no role, because anyone may sweep.
    function _sweep(IDepositAddressFactory.Sweep[] memory sweeps) internal {
        vm.prank(outsider);
        factory.sweep(sweeps);
    }

    function _sweep(address token_) internal {
        IDepositAddressFactory.Sweep[] memory sweeps = new IDepositAddressFactory.Sweep[](1);
        sweeps[0] = _at(SALT, token_);
        _sweep(sweeps);
    }

    /// @dev Deploys the deposit address by a sweep.
    function _deploy() internal {
        vm.deal(depositAddress, 1);
        _sweep(NATIVE);
    }

    function _at(bytes32 salt, address token_) internal pure returns (IDepositAddressFactory.Sweep memory) {
        return IDepositAddressFactory.Sweep({salt: salt, token: token_});
    }

    function _expectSwept(address token_, uint256 amount) internal {
        vm.expectEmit(address(factory));
        emit IDepositAddressFactory.Swept(SALT, token_, depositAddress, amount);
    }

    function _expectSweepFailed(address token_, uint256 amount) internal {
        vm.expectRevert(abi.encodeWithSelector(IDepositAddressFactory.SweepFailed.selector, SALT, token_, amount));
    }
}
