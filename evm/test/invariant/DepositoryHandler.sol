// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {Depository} from "../../src/Depository.sol";
import {IDepository} from "../../src/IDepository.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Vm} from "../Vm.sol";
import {ExtraSender} from "../actors/ExtraSender.sol";
import {Reenterer} from "../actors/Reenterer.sol";
import {FalseToken} from "../tokens/FalseToken.sol";
import {FeeToken} from "../tokens/FeeToken.sol";
import {HookToken} from "../tokens/HookToken.sol";
import {NoReturnToken} from "../tokens/NoReturnToken.sol";
import {Handler} from "./Handler.sol";

/// @notice Deposits unusual tokens from any account while the list of receivers changes, and records the results.
contract DepositoryHandler is Handler {
    address public immutable owner = named("owner");
    address private immutable _user = named("user");

    Depository public immutable depository;
    ExtraSender private immutable _extraSender;
    HookToken private immutable _hooked;

    /// @dev The first is the native token.
    address[] public tokens;
    /// @dev The last three: one that calls back, one that refuses native value, the user.
    address[] public receivers;

    mapping(address token => mapping(address receiver => uint256 amount)) public deposited;
    mapping(address receiver => bool approved) public approved;
    bool public paused;

    uint256 public deposits;
    bool public paidUnapproved;
    bool public depositedWhilePaused;
    bool public notOneEvent;
    bool public heldSomething;

    constructor() {
        depository = new Depository(owner, new address[](0));
        _hooked = new HookToken();
        _extraSender = new ExtraSender(_hooked);

        tokens.push(address(0));
        tokens.push(address(new DevToken("USD Coin", "USDC", 6, _user, 0)));
        tokens.push(address(new FeeToken(137)));
        tokens.push(address(new NoReturnToken()));
        tokens.push(address(new FalseToken()));
        tokens.push(address(_hooked));
        for (uint256 i = 1; i < tokens.length; ++i) {
            DevToken(tokens[i]).mint(_user, type(uint128).max);
            vm.prank(_user);
            _approve(tokens[i]);
        }
        _hooked.mint(address(_extraSender), type(uint128).max);
        vm.deal(_user, type(uint128).max);

        Reenterer reenterer = new Reenterer();
        receivers.push(named("first receiver"));
        receivers.push(named("second receiver"));
        receivers.push(address(reenterer));
        receivers.push(address(depository));
        reenterer.plan(
            address(depository),
            abi.encodeCall(IDepository.depositERC20, (bytes32(0), tokens[1], named("first receiver"), 1)),
            0
        );
        _hooked.setHook(address(reenterer), reenterer);
    }

    /* ACTIONS */

    function depositNative(bytes32 id, uint256 receiverSeed, uint256 amount) external {
        address receiver = receivers[receiverSeed % receivers.length];
        _deposit(
            _user,
            address(0),
            receiver,
            between(amount, 0, 1000 ether),
            abi.encodeCall(IDepository.depositNative, (id, receiver))
        );
    }

    function depositErc20(bytes32 id, uint256 tokenSeed, uint256 receiverSeed, uint256 amount) external {
        address token = tokens[tokenSeed % tokens.length];
        address receiver = receivers[receiverSeed % receivers.length];
        bytes memory data =
            abi.encodeCall(IDepository.depositERC20, (id, token, receiver, between(amount, 0, 1000 ether)));
        _deposit(_user, token, receiver, 0, data);
    }

    /// @dev A sender that sends the receiver more in the token's hook.
    function depositWithExtra(bytes32 id, uint256 receiverSeed, uint256 amount, uint256 extra) external {
        address receiver = receivers[receiverSeed % receivers.length];
        uint256 balanceBefore = _hooked.balanceOf(receiver);
        vm.recordLogs();
        try _extraSender.deposit(
            depository, id, receiver, between(amount, 0, 1000 ether), between(extra, 1, 1000 ether)
        ) {
            _note(vm.getRecordedLogs());
        } catch {}
        _noteGain(address(_hooked), receiver, balanceBefore);
    }

    function setReceiver(uint256 oldSeed, uint256 newSeed, uint256 action) external {
        address oldReceiver = receivers[oldSeed % receivers.length];
        address newReceiver = receivers[newSeed % receivers.length];
        vm.prank(owner);
        if (action % 3 == 0) {
            try depository.addToWhitelist(newReceiver) {
                approved[newReceiver] = true;
            } catch {}
        } else if (action % 3 == 1) {
            try depository.removeFromWhitelist(oldReceiver) {
                approved[oldReceiver] = false;
            } catch {}
        } else {
            try depository.updateWhitelistedAddress(oldReceiver, newReceiver) {
                approved[oldReceiver] = false;
                approved[newReceiver] = true;
            } catch {}
        }
    }

    /// @dev Paused in one of four cases, so that most deposits are made.
    function setPaused(uint256 seed) external {
        bool wanted = seed % 4 == 0;
        if (wanted == paused) return;
        paused = wanted;
        vm.prank(owner);
        wanted ? depository.pause() : depository.unpause();
    }

    /* READING */

    function tokenCount() external view returns (uint256) {
        return tokens.length;
    }

    function receiverCount() external view returns (uint256) {
        return receivers.length;
    }

    function balanceOf(address token, address account) public view returns (uint256) {
        return token == address(0) ? account.balance : IERC20(token).balanceOf(account);
    }

    /* INTERNAL */

    function _deposit(address sender, address token, address receiver, uint256 value, bytes memory data) private {
        uint256 balanceBefore = balanceOf(token, receiver);
        (bool succeeded, Vm.Log[] memory logs) = _attempt(sender, address(depository), value, data);
        if (succeeded) _note(logs);
        _noteGain(token, receiver, balanceBefore);
    }

    function _note(Vm.Log[] memory logs) private {
        uint256 seen;
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].topics[0] != Depository.Deposited.selector) continue;
            ++seen;
            deposited[_address(logs[i].topics[2])][_address(logs[i].topics[3])] += abi.decode(logs[i].data, (uint256));
        }
        deposits += seen;
        if (seen != 1) notOneEvent = true;
        if (paused) depositedWhilePaused = true;
    }

    function _noteGain(address token, address receiver, uint256 balanceBefore) private {
        if (balanceOf(token, receiver) != balanceBefore && !approved[receiver]) paidUnapproved = true;
        if (balanceOf(token, address(depository)) != 0) heldSomething = true;
    }

    function _approve(address token) private {
        (bool succeeded,) = token.call(abi.encodeCall(IERC20.approve, (address(depository), type(uint256).max)));
        require(succeeded, "approval refused");
    }
}
